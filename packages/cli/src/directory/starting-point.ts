/** What `handover init` writes: small, true, and every line explained. */
export const STARTING_POINT = `# An internal CA for this machine. Keep it with: handover run DIR
# Files appear in DIR/out; keys of the CA stay in DIR/state.
apiVersion: handover.dev/v1alpha1
kind: Authority
metadata:
  name: internal              # AUTH for the commands is default/internal
spec:
  key: ECDSA-P256             # or ECDSA-P384, RSA-2048, RSA-3072, RSA-4096
  lifetime: 5y
  rotation:
    at: 80%                   # begins after this share of the lifetime; or: handover rotate default/internal
    # How long any of your programs takes, at most, to load changed files. Nothing is dropped before.
    reloadWithin: 3m
  # Programs that can show what they have loaded need not be waited for:
  # consumers:
  #   - {name: web, presents: true, probe: {address: "127.0.0.1:8443"}}
---
# One certificate: DIR/out/default/secrets/web/{tls.crt,tls.key,ca.crt}
apiVersion: handover.dev/v1alpha1
kind: Leaf
metadata:
  name: web
spec:
  authority: internal
  dnsNames: [localhost]
  ipAddresses: [127.0.0.1]
  usages: [server, client]
  lifetime: 90d
  # How the program is told that its files changed, if it does not watch them:
  # reload: {command: [nginx, -s, reload]}
  # Who may read the key (root gives files away):
  # files: {owner: postgres, group: postgres, mode: "0600"}
`;
