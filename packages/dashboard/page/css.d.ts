// esbuild gathers them into one file.
declare module '*.css';
