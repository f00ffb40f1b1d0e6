import type { ComponentChildren } from 'preact';

interface Props {
  readonly labelledBy: string;
  readonly tall?: boolean;
  readonly onScroll?: (top: number) => void;
  readonly children: ComponentChildren;
}

/** A part with its own scroll bar, reachable by keyboard: WCAG 2.1.1. */
export const Scroll = ({ labelledBy, tall = false, onScroll, children }: Props) => {
  const reachable = { tabIndex: 0, role: 'region', 'aria-labelledby': labelledBy } as const;
  return (
    <div
      class={tall ? 'scroll tall' : 'scroll'}
      {...reachable}
      onScroll={(event) => onScroll?.(event.currentTarget.scrollTop)}
    >
      {children}
    </div>
  );
};
