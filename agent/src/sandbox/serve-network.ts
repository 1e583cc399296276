import type { PublishedPort } from '@palisade/protocol'
import type { Server } from 'node:net'
import type { ActivePolicy } from '../policy/decision/active-policy.ts'
import type { PreparedLaunch } from './launch/prepare-launch.ts'
import type { Launch } from './launch/trampoline.ts'
import { publishPorts } from './network/publish-ports.ts'
import {
  serveSandbox,
  type SandboxNetwork,
  type SandboxNetworkDeps,
} from './network/sandbox-network.ts'

/** The questions of one sandbox. */
export interface SandboxApi {
  /** Closes the listener and all connections. Idempotent. */
  close(): void
}

/** Serves the programs of one sandbox on its `listener`. */
export type ServeSandboxApi = (sandboxId: string, listener: Server) => Promise<SandboxApi>

export interface ServedNetworkDeps {
  readonly view: { readonly active: Pick<ActivePolicy, 'decide'> }
  readonly serveApi: ServeSandboxApi
  readonly network: Omit<SandboxNetworkDeps, 'sandboxId' | 'holderPid' | 'listeners'>
  readonly programs: Launch['programs']
  /** The program that keeps the namespaces of a sandbox, and joins its published ports. */
  readonly holderFile: string
}

/** Serves the network of the sandbox, and the ports that it publishes. */
export async function serveNetwork(
  publish: readonly PublishedPort[],
  launch: PreparedLaunch,
  deps: ServedNetworkDeps,
): Promise<SandboxNetwork> {
  const { holderFile, network, programs, view } = deps
  const { pid: holderPid } = launch.holder
  const published = await publishPorts(publish, {
    holderPid,
    holderFile,
    programs,
    active: {
      decide: (request) => view.active.decide(request),
      subscribe: (listener) => network.active.subscribe(listener),
    },
  })
  const served = await serveListeners(launch, deps).catch((error: unknown) => {
    published.close()
    throw error
  })
  return {
    close() {
      published.close()
      served.close()
    },
  }
}

/** Serves all listeners within the sandbox. Rejects when one of them is closed, and closes all. */
export async function serveListeners(
  { id, holder }: Pick<PreparedLaunch, 'id' | 'holder'>,
  { network, serveApi }: Pick<ServedNetworkDeps, 'network' | 'serveApi'>,
): Promise<SandboxNetwork> {
  const { pid, listeners } = holder
  const api = await serveApi(id, listeners.api)
  const served = await serveSandbox({
    ...network,
    sandboxId: id,
    holderPid: pid,
    listeners,
  }).catch((error: unknown) => {
    api.close()
    throw error
  })
  return {
    close() {
      served.close()
      api.close()
    },
  }
}
