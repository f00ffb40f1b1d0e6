export interface Stage {
  readonly env: Readonly<Record<string, string>>;
  adapt(code: string): string;
  end(): Promise<void>;
}

export function setStage(directory: string): Promise<Stage>;
