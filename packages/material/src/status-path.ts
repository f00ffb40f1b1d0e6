/** Path of a status document. Fixed, so that an object of the cluster cannot choose what is requested. */
export const STATUS_PATH = '/handover/status';
/** Controllers read no more of a status document than this. */
export const MAX_STATUS_BYTES = 64 * 1024;
