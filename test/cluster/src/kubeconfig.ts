import { type CertificateFiles, writeWhole } from './pki.ts';

export interface KubeconfigInput {
  readonly url: string;
  readonly caFile: string;
  readonly user: CertificateFiles;
}

/** Names files rather than holding their content, so that a client that follows its files can follow a rotation. */
export function writeKubeconfig(path: string, { url, caFile, user }: KubeconfigInput): string {
  const lines = [
    'apiVersion: v1',
    'kind: Config',
    'current-context: test',
    'clusters:',
    '  - name: test',
    `    cluster: {server: ${JSON.stringify(url)}, certificate-authority: ${JSON.stringify(caFile)}}`,
    'users:',
    '  - name: test',
    `    user: {client-certificate: ${JSON.stringify(user.certFile)}, client-key: ${JSON.stringify(user.keyFile)}}`,
    'contexts:',
    '  - name: test',
    '    context: {cluster: test, user: test}',
  ];
  writeWhole(path, `${lines.join('\n')}\n`);
  return path;
}
