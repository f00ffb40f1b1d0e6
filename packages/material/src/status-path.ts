/** Path of a status document. Fixed, so that an object of the cluster cannot choose what is requested. */
export const STATUS_PATH = '/handover/status';
/** Controllers read no more of a status document than this. */
export const MAX_STATUS_BYTES = 64 * 1024;

/** Path of a metrics page that names none. */
export const METRICS_PATH = '/metrics';

/** A metrics page lists each CA certificate in use, and each leaf, as a series of these names with the value 1 and the label `sha256`. */
export const TRUST_METRIC = 'tls_trust_anchor_info';
export const LEAF_METRIC = 'tls_leaf_info';
