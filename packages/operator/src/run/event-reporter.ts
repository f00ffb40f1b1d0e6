import { API_VERSION } from '@handover/core';
import type { AuthorityId, IssuedEntry, ObjectId, Outcome } from '@handover/engine';
import type { Happening, Regarding } from '../events/event.ts';
import { Happenings } from '../events/happenings.ts';
import { issuedNote } from '../events/issued.ts';
import { EventRecorder, type RecorderOptions } from '../events/recorder.ts';
import type { Declared } from '../resources/declared.ts';
import type { ResolvedResources } from '../resources/resolved-resources.ts';
import { type AnyStatus, find } from './status.ts';
import { workOf } from './work.ts';

const regardingOf = ({ kind, namespace, name, uid }: Declared): Regarding => ({
  apiVersion: API_VERSION,
  kind,
  namespace,
  name,
  uid,
});

/** Tells in Events what happens to our resources. By whoever leads, and for as long as it does. */
export class EventReporter {
  readonly #recorder: EventRecorder;
  readonly #happenings = new Happenings();
  readonly #invalid = new Map<string, string>();
  readonly #contended = new Set<string>();

  constructor(options: RecorderOptions) {
    this.#recorder = new EventRecorder(options);
  }

  /** What a pass over an authority saw and did. */
  pass(resolved: ResolvedResources, id: AuthorityId, outcome: Outcome): void {
    const authority = find(resolved, 'Authority', id);
    for (const { leaf, ...happening } of this.#happenings.after(id, outcome)) {
      const about = leaf === undefined ? authority : find(resolved, 'Leaf', leaf);
      if (about !== undefined) this.#recorder.tell(regardingOf(about), happening);
    }
  }

  forget(authority: AuthorityId): void {
    this.#happenings.forget(authority);
  }

  /** A resource that nobody can make sense of; undefined: somebody can. */
  invalid(declared: Declared, problem: string | undefined): void {
    const { uid } = declared;
    if (problem === undefined) this.#invalid.delete(uid);
    if (problem === undefined || this.#invalid.get(uid) === problem) return;
    this.#invalid.set(uid, problem);
    this.#tell(declared, 'Warning', 'Invalid', 'Read', problem);
  }

  /** Somebody had changed what we keep, and it has been put right. */
  repaired(resolved: ResolvedResources, keepers: Iterable<string>, object: ObjectId, manager: string): void {
    for (const key of keepers) {
      const work = workOf(key);
      const declared = work.kind === 'resources' ? undefined : find(resolved, work.kind, work.id);
      if (declared !== undefined)
        this.#tell(declared, 'Normal', 'Repaired', 'Write', `${object} was changed by ${manager}; put right`);
    }
  }

  /** A certificate, on the resource that it was made for. Canaries are in the log alone: they end within minutes. */
  issued(resolved: ResolvedResources, entry: IssuedEntry): void {
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

  /** A TrustBundle's fight over one of its targets, when it begins. */
  bundle(declared: Declared, status: AnyStatus): void {
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
