// client-node 2 brings undici 8, which needs Node 22. On Node 20 it gets the undici 7 that stands beside it.
export const resolve = (specifier, context, next) =>
  specifier === 'undici' && context.parentURL?.includes('/client-node-2/')
    ? next(specifier, { ...context, parentURL: import.meta.url })
    : next(specifier, context);
