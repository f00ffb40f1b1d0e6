import { useEffect, useRef } from 'preact/hooks';
import uPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';
import type { Figures } from '../src/document.ts';
import { counted } from '../src/view/words.ts';

const HEIGHT = 168;
const BANDS = { Introducing: '--band-1', Activating: '--band-2', Retiring: '--band-3' } as const;

const two = (value: number): string => String(value).padStart(2, '0');
const timeOf = (second: number): string => {
  const date = new Date(second * 1000);
  return `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`;
};

const colour = (name: string): string =>
  getComputedStyle(document.documentElement).getPropertyValue(name).trim();

/** Phases behind the lines: they show that handshakes do not fail while a phase changes. */
const bands = (figures: () => Figures) => (plot: uPlot) => {
  const { ctx, bbox } = plot;
  const { phases } = figures();
  phases.forEach(({ at, phase }, index) => {
    const name = BANDS[phase as keyof typeof BANDS];
    if (name === undefined) return;
    const end = phases[index + 1]?.at ?? plot.scales.x?.max ?? at;
    const from = Math.max(plot.valToPos(at, 'x', true), bbox.left);
    const to = Math.min(plot.valToPos(end, 'x', true), bbox.left + bbox.width);
    if (to <= from) return;
    ctx.fillStyle = colour(name);
    ctx.fillRect(from, bbox.top, to - from, bbox.height);
  });
};

const optionsFor = (width: number, figures: () => Figures): uPlot.Options => {
  const axis = {
    stroke: colour('--muted'),
    font: `11px ${colour('--sans')}`,
    grid: { stroke: colour('--rule'), width: 1 },
    ticks: { show: false },
  };
  return {
    width,
    height: HEIGHT,
    legend: { show: false },
    cursor: { show: false },
    padding: [8, 22, 0, 0],
    scales: { y: { range: (_plot, _min, max) => [0, Math.max(10, max * 1.15)] } },
    axes: [
      { ...axis, grid: { show: false }, size: 26, space: 90, values: (_plot, ticks) => ticks.map(timeOf) },
      { ...axis, size: 38 },
    ],
    series: [
      {},
      { stroke: colour('--ok'), width: 1.5, points: { show: false } },
      {
        stroke: colour('--bad'),
        fill: colour('--bad'),
        width: 2,
        points: { show: false },
        paths: uPlot.paths.bars?.({ size: [1, 6] }) ?? null,
      },
    ].map((series) => series as uPlot.Series),
    hooks: { drawClear: [bands(figures)] },
  };
};

const dataOf = ({ at, went, failed }: Figures): uPlot.AlignedData => [
  [...at],
  [...went],
  failed.map((count) => (count === 0 ? null : count)),
];

export const Plot = ({ figures }: { figures: Figures }) => {
  const place = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | undefined>(undefined);
  const last = useRef(figures);
  last.current = figures;
  useEffect(() => {
    const element = place.current;
    if (element === null) return;
    const make = (): void => {
      plot.current?.destroy();
      plot.current = new uPlot(
        optionsFor(element.clientWidth, () => last.current),
        dataOf(last.current),
        element,
      );
    };
    make();
    const sizes = new ResizeObserver(() =>
      plot.current?.setSize({ width: element.clientWidth, height: HEIGHT }),
    );
    sizes.observe(element);
    const scheme = matchMedia('(prefers-color-scheme: dark)');
    scheme.addEventListener('change', make);
    return () => {
      sizes.disconnect();
      scheme.removeEventListener('change', make);
      plot.current?.destroy();
    };
  }, []);
  useEffect(() => plot.current?.setData(dataOf(figures)), [figures]);
  const rate = figures.went.at(-1) ?? 0;
  return (
    <section class="plot" aria-labelledby="plot">
      <h2 id="plot">
        Handshakes per second{' '}
        <span class="count">
          {counted(figures.handshakes)} so far, {counted(figures.failures)} failed
        </span>
      </h2>
      <div
        class="canvas"
        ref={place}
        role="img"
        aria-label={`${rate} handshakes in the last second; ${figures.handshakes} so far, ${figures.failures} failed`}
      />
      <p class="key">
        <span class="line ok" /> succeeded <span class="line bad" /> failed <span class="band b1" />{' '}
        introducing <span class="band b2" /> activating <span class="band b3" /> retiring
      </p>
    </section>
  );
};
