export { Board, type BoardOptions, type PartName, type Pass } from './board.ts';
export type {
  AuthorityPart,
  BoardDocument,
  Cell,
  DocumentParts,
  Figures,
  History,
  LogEntry,
  RestShown,
  ShownSpan,
  TrustGrid,
} from './document.ts';
export type { DashboardErrorCode } from './error.ts';
export { type Dashboard, type DashboardOptions, serveDashboard } from './server.ts';
