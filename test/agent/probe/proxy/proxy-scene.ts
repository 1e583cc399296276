import type { ProbeResult } from '@palisade/protocol'
import { onTestFinished } from 'vitest'
import type { MachineDecision } from '../../../../agent/src/policy/decision/active-policy.ts'
import type { PolicyBundle } from '../../../../agent/src/policy/decision/policy-bundle.ts'
import { createCanaries } from '../../../../agent/src/probe/proxy/canaries.ts'
import { probeProxy, type ProbeDeps } from '../../../../agent/src/probe/proxy/probe-proxy.ts'
import { createLiveConnections } from '../../../../agent/src/proxy/admission/live-connections.ts'
import { governWithParent } from '../../../../agent/src/proxy/parent/decide-with-parent.ts'
import { createParentProxy } from '../../../../agent/src/proxy/parent/parent-proxy.ts'
import { createProxyAddress } from '../../../../agent/src/proxy/proxy-address.ts'
import { createProxy } from '../../../../agent/src/proxy/proxy.ts'
import { createDial, type Dial } from '../../../../agent/src/proxy/target/dial.ts'
import { activePolicy } from '../../fixture/active-policy.ts'
import { NOW_MS } from '../../fixture/bundle.ts'
import { PARENT_ACCESS } from '../../fixture/proxy.ts'

type Decide = (request: unknown) => MachineDecision

interface PointOptions {
  readonly broken?: (decide: Decide) => Decide
  /** A parent proxy that does not exist. */
  readonly parent?: { readonly resolves: boolean }
}

/** A proxy with canaries, and the names and addresses that left it. */
export async function startPoint(
  bundle: PolicyBundle | null,
  { broken, parent }: PointOptions = {},
) {
  const { active, use } = activePolicy()
  if (bundle !== null) use(bundle)
  const canaries = createCanaries()
  const resolved: string[] = []
  const dialled = new Set<string>()
  const decisions: MachineDecision[] = []
  const ends: MachineDecision[] = []
  const resolve = canaries.resolve(async (name) => {
    resolved.push(name)
    return ['127.0.0.1']
  })
  const connectDirectly = createDial(60_000)
  const dial: Dial = (address, port, signal) => {
    dialled.add(address)
    return connectDirectly(address, port, signal)
  }
  const address = createProxyAddress()
  const isOwnAddress = address.isOwn
  const access = { ...PARENT_ACCESS, host: 'parent.test', port: 3128, ...parent }
  const machine = { machineAddresses: () => [], uptime: () => 0, clock: () => NOW_MS }
  const above =
    parent === undefined
      ? null
      : createParentProxy({ access, resolve, dial, isOwnAddress, timeoutMs: 60_000, ...machine })
  const ruled = above === null ? active : governWithParent(active, above)
  const whole = canaries.decide(ruled.decide)
  const decide = broken === undefined ? whole : broken(whole)
  const proxy = createProxy({
    address,
    port: 0,
    decide,
    resolve,
    dial,
    parent: above,
    live: createLiveConnections(decide, 10),
    idleMs: 60_000,
    flushTimeoutMs: 60_000,
    maxConnections: 20,
    bodyRate: { bytes: 1, windowMs: 60_000 },
    nearMisses: () => [],
    onEvent: ({ decision, flow }) => (flow === undefined ? decisions : ends).push(decision),
    onError: () => {},
  })
  await proxy.start()
  onTestFinished(() => proxy.stop())
  let count = 0
  const token = (): string => `token${(count += 1)}`
  const deps: ProbeDeps = { canaries, token, clock: () => NOW_MS, carriesDatagrams: above === null }
  const port = Number(new URL(proxy.describe()).port)
  const probe = (through = port, changes: Partial<ProbeDeps> = {}): Promise<ProbeResult> =>
    probeProxy({ ...deps, ...changes }, `http://127.0.0.1:${through}`)
  return { active, canaries, decisions, dialled, ends, port, probe, proxy, resolved }
}
