import { compileInSteps, type CompiledPolicy, type Policy, type Steps } from '@palisade/policy-core'
import { PROBE_POLICY } from './probe-policy.ts'
import { ageLimitsOf, type AgeLimits } from '../state/agent-state.ts'
import { compileOffline } from './offline.ts'
import type { PolicyBundle } from './policy-bundle.ts'

/** A verified bundle, compiled for the machine addresses of that time. */
export interface CompiledBundle {
  readonly kind: 'bundle'
  readonly bundle: PolicyBundle
  readonly limits: AgeLimits
  readonly source: 'server' | 'cache' | 'file'
  readonly compiled: CompiledPolicy
  /** Hosts that stay reachable after expiry. */
  readonly offline: CompiledPolicy
  readonly machineAddresses: readonly string[]
  /** The machine's own policies, of which the denies count. */
  readonly local: readonly Policy[]
  /** The home directory that `~` stands for, or null. */
  readonly home: string | null
}

export interface CompileDeps {
  /** Canonical and sorted. */
  readonly machineAddresses: () => readonly string[]
  readonly localPolicies: readonly Policy[]
  /** The home directory that `~` stands for, or null. */
  readonly home: string | null
  /** The server in rule syntax. */
  readonly controlPlane: readonly string[]
  readonly source: CompiledBundle['source']
  /** The last compilation, reused when only the times differ. */
  readonly former: CompiledBundle | null
}

/** Compiles in steps, as policy-core does. `next` throws policy-core's `PolicyError`. */
export function* compileBundle(
  bundle: PolicyBundle,
  { former, source, home, localPolicies: local, ...deps }: CompileDeps,
): Steps<CompiledBundle> {
  const machineAddresses = deps.machineAddresses()
  if (former !== null && isSameContent(former, bundle, { machineAddresses, local }))
    return { ...former, bundle, limits: ageLimitsOf(bundle), source }
  const { resolve_unlisted_names, offline_allow } = bundle.settings
  const set = {
    policies: bundle.policies,
    local: [...local, PROBE_POLICY],
    grants: bundle.grants,
    governed: true,
    machine_addresses: machineAddresses,
    resolve_unlisted_names,
    default: bundle.settings.default,
    revision: bundle.revision,
    ...(home === null ? {} : { home }),
  }
  // The server does not bound the sum of path costs. Refusing a signed set for its cost would leave
  // the machine without a policy.
  const compiled = yield* compileInSteps(set, { patternLimits: false })
  const offline =
    former !== null && isSameList(former.bundle.settings.offline_allow, offline_allow)
      ? former.offline
      : compileOffline([...deps.controlPlane, ...offline_allow])
  const limits = ageLimitsOf(bundle)
  return {
    kind: 'bundle',
    bundle,
    limits,
    source,
    compiled,
    offline,
    machineAddresses,
    local,
    home,
  }
}

/** Whether only the times differ, as in the hourly signatures. */
function isSameContent(
  former: CompiledBundle,
  { policies, revision, settings, grants }: PolicyBundle,
  { machineAddresses, local }: Pick<CompiledBundle, 'machineAddresses' | 'local'>,
): boolean {
  const { bundle } = former
  return (
    bundle.policies === policies &&
    bundle.revision === revision &&
    JSON.stringify(bundle.grants) === JSON.stringify(grants) &&
    bundle.settings.resolve_unlisted_names === settings.resolve_unlisted_names &&
    bundle.settings.default === settings.default &&
    isSameList(bundle.settings.offline_allow, settings.offline_allow) &&
    isSameList(former.machineAddresses, machineAddresses) &&
    former.local === local
  )
}

export function isSameList(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((value, index) => value === b[index])
}
