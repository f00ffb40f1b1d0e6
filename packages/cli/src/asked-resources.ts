import { parseResources, type Resource } from '@handover/core';
import { envoyGateway, type RandomSecret, readYaml } from '@handover/engine';
import { type Command, Option } from 'commander';
import { usageError } from './error-line.ts';
import { readResources } from './named-file.ts';

export interface AskedFlags {
  readonly namespace?: string;
  readonly preset?: 'envoy-gateway';
  readonly file?: string;
  readonly disableTopologyInjector?: true;
}

/** Options for resources that are not in the home. */
export const askedOptions = (command: Command): Command =>
  command
    .option('--namespace <ns>', 'namespace of the Secrets (default for the preset: envoy-gateway-system)')
    .addOption(new Option('--preset <name>', 'a predefined set of Secrets').choices(['envoy-gateway']))
    .option('-f, --file <file>', 'take resources from this file')
    .option(
      '--disable-topology-injector',
      'with the preset: leave the webhook of the topology injector alone',
    );

export interface AskedResources {
  /** Undefined: use those of the home. */
  readonly resources: readonly Resource[] | undefined;
  readonly randomSecrets: readonly RandomSecret[];
}

const inNamespace = (value: unknown, namespace: string | undefined): unknown => {
  if (namespace === undefined || typeof value !== 'object' || value === null) return value;
  const { metadata, kind } = value as { metadata?: object; kind?: string };
  return kind === 'TrustBundle' ? value : { ...value, metadata: { namespace, ...metadata } };
};

export const askedResources = (flags: AskedFlags): AskedResources => {
  if (flags.preset !== undefined && flags.file !== undefined)
    throw usageError('--preset and -f both name resources; give one of them');
  if (flags.preset !== undefined) {
    return envoyGateway(flags.namespace ?? 'envoy-gateway-system', {
      topologyInjector: flags.disableTopologyInjector !== true,
    });
  }
  if (flags.disableTopologyInjector !== undefined)
    throw usageError('--disable-topology-injector has no effect alone; add --preset envoy-gateway');
  if (flags.file === undefined) return { resources: undefined, randomSecrets: [] };
  const documents = readYaml(readResources(flags.file), flags.file);
  const resources = parseResources(
    documents.map(({ value, where }) => ({ where, value: inNamespace(value, flags.namespace) })),
  );
  return { resources, randomSecrets: [] };
};
