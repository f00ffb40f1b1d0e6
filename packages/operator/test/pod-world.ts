import { signerOf } from '@handover/core';
import { type KubeObject, pods } from '@handover/kube';
import { type Answer, certifiedPod, REQUESTS, requestFor } from './pod-request.ts';
import { clusterOf, OperatorWorld, placeOf } from './world.ts';

export const SIGNER = signerOf('prod/mesh');

interface PodMade {
  readonly annotations?: Readonly<Record<string, string>>;
  readonly phase?: 'Pending' | 'Running';
  readonly twoVolumes?: boolean;
}

/** The same with a second podCertificate volume of the same signer. */
const withTwoVolumes = (pod: KubeObject): KubeObject => {
  const spec = pod.spec as { readonly volumes: readonly object[] };
  const volumes = [...spec.volumes, ...spec.volumes.map((volume) => ({ ...volume, name: 'second' }))];
  return { ...pod, spec: { ...spec, volumes } } as KubeObject;
};

/** An operator and pods of the namespaces prod and shop with certificates of Authority prod/mesh. The test plays the kubelet. */
export class PodWorld extends OperatorWorld {
  static override async open(): Promise<PodWorld> {
    return new PodWorld(await clusterOf({ namespaces: ['shop'] }));
  }

  async certifiedPod(id: string, made: PodMade = {}): Promise<KubeObject> {
    const { annotations = {}, phase = 'Running', twoVolumes = false } = made;
    const place = placeOf(id);
    const pod = certifiedPod(place.namespace, place.name, SIGNER, { metadata: { annotations } });
    await this.kube.create(pods, twoVolumes ? withTwoVolumes(pod) : pod);
    const ready = { type: 'Ready', status: phase === 'Running' ? 'True' : 'False' };
    const status = { phase, conditions: [ready] };
    return this.kube.patch(pods, { ...place, subresource: 'status' }, { merge: { status } });
  }

  /** A request of the kubelet. Returns its id. */
  async request(pod: KubeObject, spec: object = {}): Promise<string> {
    const { namespace, name } = (await this.kube.create(REQUESTS, requestFor(pod, SIGNER, spec))).metadata;
    return `${namespace}/${name}`;
  }

  async answerTo(request: string): Promise<Answer> {
    return ((await this.kube.get(REQUESTS, placeOf(request)))?.status ?? {}) as Answer;
  }

  answered(request: string): Promise<Answer> {
    const look = async (): Promise<Answer | undefined> => {
      const answer = await this.answerTo(request);
      return answer.conditions === undefined ? undefined : answer;
    };
    return this.until(look, `an answer to request ${request}`);
  }
}
