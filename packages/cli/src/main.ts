export const main = async (): Promise<void> => {};
