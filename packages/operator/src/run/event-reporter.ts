import { API_VERSION } from '@handover/core';
import type { AuthorityId, ControllerEvent, IssuedEntry, Key, ObjectId } from '@handover/engine';
import type { Happening, Regarding } from '../events/event.ts';
import { Happenings } from '../events/happenings.ts';
import { issuedNote } from '../events/issued.ts';
import { EventRecorder, type RecorderOptions } from '../events/recorder.ts';
import type { PodSigningOptions } from '../pod-certificates/signer.ts';
import type { Declared } from '../resources/declared.ts';
import type { ResolvedResources } from '../resources/resolved-resources.ts';
import { type AnyStatus, find } from './status.ts';

const regardingOf = ({ kind, namespace, name, uid }: Declared): Regarding => ({
  apiVersion: API_VERSION,
  kind,
  namespace,
  name,
  uid,
});

/** Tells in Kubernetes Events what happens to our resources, for as long as this replica leads. */
export class EventReporter {
  readonly #recorder: EventRecorder;
  readonly #happenings = new Happenings();
  readonly #invalid = new Map<string, string>();
  readonly #contended = new Set<string>();

  constructor(options: RecorderOptions) {
    this.#recorder = new EventRecorder(options);
  }

  heard(
    event: ControllerEvent,
    resolved: ResolvedResources,
    keepersOf: (object: ObjectId) => readonly Key[],
  ): void {
    if (event.kind === 'acted' || event.kind === 'rested') this.#pass(resolved, event);
    else if (event.kind === 'repaired') this.#repaired(resolved, keepersOf(event.object), event);
    else if (event.kind === 'issued') this.#issued(resolved, event.entry);
  }

  /** What a pass over an authority saw and did. */
  #pass(
    resolved: ResolvedResources,
    event: Extract<ControllerEvent, { readonly kind: 'acted' | 'rested' }>,
  ): void {
    const authority = find(resolved, 'Authority', event.authority);
    for (const { leaf, ...happening } of this.#happenings.after(event.authority, event)) {
      const about = leaf === undefined ? authority : find(resolved, 'Leaf', leaf);
      if (about !== undefined) this.#recorder.tell(regardingOf(about), happening);
    }
  }

  forget(authority: AuthorityId): void {
    this.#happenings.forget(authority);
  }

  /** A resource that cannot be used; undefined: it can. */
  invalid(declared: Declared, problem: string | undefined): void {
    const { uid } = declared;
    if (problem === undefined) this.#invalid.delete(uid);
    if (problem === undefined || this.#invalid.get(uid) === problem) return;
    this.#invalid.set(uid, problem);
    this.#tell(declared, 'Warning', 'Invalid', 'Read', problem);
  }

  /** An object was changed from outside, and has its content back. */
  #repaired(
    resolved: ResolvedResources,
    keepers: readonly Key[],
    { object, manager }: Extract<ControllerEvent, { readonly kind: 'repaired' }>,
  ): void {
    for (const key of keepers) {
      const declared = 'id' in key ? find(resolved, key.kind, key.id) : undefined;
      const note = `${manager ?? 'An unknown program'} changed ${object}; Handover restored it`;
      if (declared !== undefined) this.#tell(declared, 'Normal', 'Repaired', 'Write', note);
    }
  }

  /** A certificate, on the resource that it was made for. Canaries are in the log alone: they end within minutes. */
  #issued(resolved: ResolvedResources, entry: IssuedEntry): void {
    if (entry.kind === 'canary') return;
    const { kind, namespace, name } = entry.for;
    const declared = find(resolved, kind, `${namespace}/${name}`);
    if (declared === undefined) return;
    const note = issuedNote(entry);
    const happening = {
      type: 'Normal',
      reason: 'CertificateIssued',
      action: 'Issue',
      note,
      minor: true,
    } as const;
    this.#recorder.tell(regardingOf(declared), happening);
  }

  /** The kubelet says on the pod that a request was refused; what a request waits for only we know. */
  podCertificate: PodSigningOptions['tell'] = ({ namespace, pod, signer }, verdict) => {
    const about = { apiVersion: 'v1', kind: 'Pod', namespace, ...pod };
    if (verdict.is === 'waits') {
      const note = `no certificate from ${signer} yet: ${verdict.why}`;
      this.#recorder.tell(about, { type: 'Warning', reason: 'PodCertificateWaits', action: 'Sign', note });
    } else if (verdict.is === 'granted') {
      const note = `the certificate from ${signer} lacks ${verdict.leftOut.join(', ')}: spec.issueTo of the Authority does not allow them`;
      this.#recorder.tell(about, { type: 'Normal', reason: 'NamesLeftOut', action: 'Sign', note });
    }
  };

  /** A fight over a target of a TrustBundle, or over a workload of a TLSProfile, when it begins. */
  contended(declared: Declared, status: AnyStatus): void {
    const { conditions = [] } = status as {
      readonly conditions?: readonly { readonly type: string; readonly message: string }[];
    };
    const fight = conditions.find(({ type }) => type === 'Contended');
    if (fight === undefined) this.#contended.delete(declared.uid);
    if (fight === undefined || this.#contended.has(declared.uid)) return;
    this.#contended.add(declared.uid);
    this.#tell(declared, 'Warning', 'Contended', 'Write', fight.message);
  }

  #tell(declared: Declared, type: Happening['type'], reason: string, action: string, note: string): void {
    this.#recorder.tell(regardingOf(declared), { type, reason, action, note });
  }
}
