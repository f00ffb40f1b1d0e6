export interface ErrorEntry {
  readonly means: string;
  readonly todo: string;
}

export const entry = (means: string, todo: string): ErrorEntry => ({ means, todo });
