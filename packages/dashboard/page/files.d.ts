// What page/build.mjs makes of the page: dist/page-files.js.
export declare const FILES: Readonly<Record<string, { readonly type: string; readonly body: string }>>;
