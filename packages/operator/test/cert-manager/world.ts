import { CERT_MANAGER, ISSUER } from '@handover/core';
import type { KubeObject } from '@handover/kube';
import {
  type CertificateRequest,
  certificateRequests,
  certificates,
  conditionIn,
} from '../../src/cert-manager/kinds.ts';
import { clusterOf, OperatorWorld, placeOf } from '../world.ts';
import { type CsrAsked, csrOf } from './csr.ts';
import { installCertManagerCrds, PlayedCertManager } from './played.ts';

type Owner = NonNullable<KubeObject['metadata']['ownerReferences']>[number];

/** An operator and the API of cert-manager; its namespaces are prod and team. */
export class CertManagerWorld extends OperatorWorld {
  static override async open(): Promise<CertManagerWorld> {
    const world = new CertManagerWorld(await clusterOf({ namespaces: ['team'] }));
    await installCertManagerCrds(world.kube);
    return world;
  }

  play(asks?: CsrAsked): PlayedCertManager {
    const played = new PlayedCertManager(
      this.kube,
      ({ metadata }) => asks ?? { dnsNames: [`web.${metadata.namespace}.svc`] },
    );
    this.alongside(played.run(this.signal));
    return played;
  }

  /** Requests to cert-manager's API that `when` chooses fail from now on, until the returned function is called. */
  breakApi(status: number, when: (method: string) => boolean = () => true): () => void {
    let broken = true;
    this.server.faults.add({
      when: ({ method, path }) => broken && path.startsWith('/apis/cert-manager.io/v1') && when(method),
      times: 1e9,
      status,
      reason: 'InternalError',
    });
    return () => {
      broken = false;
    };
  }

  certificate(
    id: string,
    annotations: Readonly<Record<string, string>> = {},
    issuerRef: { readonly group: string; readonly kind: string; readonly name: string } = {
      ...ISSUER,
      name: 'prod/mesh',
    },
  ): Promise<KubeObject> {
    const { namespace, name } = placeOf(id);
    return this.kube.create(certificates, {
      apiVersion: CERT_MANAGER.apiVersion,
      kind: 'Certificate',
      metadata: { namespace, name, annotations },
      spec: { secretName: name, issuerRef },
    });
  }

  /** A Certificate, and its Secret as cert-manager writes it. */
  async certified(id: string, annotations: Readonly<Record<string, string>> = {}): Promise<void> {
    await this.certificate(id, annotations);
    await this.issued(id);
    // Its last write comes after the Secret.
    const isOver = async (): Promise<boolean | undefined> => {
      const found = await this.kube.get(certificates, placeOf(id));
      return found !== undefined && conditionIn(found, 'Issuing')?.status === 'False' ? true : undefined;
    };
    await this.until(isOver, `cert-manager to be done with ${id}`);
  }

  /** A request that an approver has decided: Approved, Denied, or not yet. */
  async request(
    id: string,
    csr: CsrAsked,
    {
      issuer = 'mesh',
      decided = 'Approved',
      owner,
    }: { readonly issuer?: string; readonly decided?: string; readonly owner?: Owner } = {},
  ): Promise<void> {
    const place = placeOf(id);
    await this.kube.create(certificateRequests, {
      apiVersion: CERT_MANAGER.apiVersion,
      kind: 'CertificateRequest',
      metadata: { ...place, ...(owner === undefined ? {} : { ownerReferences: [owner] }) },
      spec: { issuerRef: { ...ISSUER, name: issuer }, request: Buffer.from(csrOf(csr)).toString('base64') },
    });
    if (decided === '') return;
    const status = { conditions: [{ type: decided, status: 'True' }] };
    await this.kube.patch(certificateRequests, { ...place, subresource: 'status' }, { merge: { status } });
  }

  /** Waits until the request's Ready condition has this reason. */
  requestIs(id: string, reason: string): Promise<CertificateRequest> {
    const look = async (): Promise<CertificateRequest | undefined> => {
      const found = await this.kube.get(certificateRequests, placeOf(id));
      return found !== undefined && conditionIn(found, 'Ready')?.reason === reason ? found : undefined;
    };
    return this.until(look, `${id} to be ${reason}`);
  }
}
