// A module of our own: esbuild gives a CommonJS package that is imported dynamically no names, only a default.
export { parse } from 'yaml';
