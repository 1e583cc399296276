import { compileInSteps, type CompiledPolicy, type Policy, type Steps } from '@palisade/policy-core'
import { compileOffline } from './offline.ts'
import type { PolicyBundle } from './policy-bundle.ts'

/** A verified bundle, compiled for the addresses that this machine had at the time. */
export interface CompiledBundle {
  readonly kind: 'bundle'
  readonly bundle: PolicyBundle
  readonly source: 'server' | 'cache' | 'file'
  readonly compiled: CompiledPolicy
  /** What stays reachable once it has expired. */
  readonly offline: CompiledPolicy
  readonly machineAddresses: readonly string[]
  /** What `~` stands for, or null. */
  readonly home: string | null
}

export interface CompileDeps {
  /** Canonical and sorted. */
  readonly machineAddresses: () => readonly string[]
  readonly localPolicies: readonly Policy[]
  /** What `~` stands for, or null. */
  readonly home: string | null
  /** The server as rules write it. */
  readonly controlPlane: readonly string[]
  readonly source: CompiledBundle['source']
  /** What was compiled last; its work is not done again where only the times are others. */
  readonly former: CompiledBundle | null
}

/** In steps, as policy-core compiles. `next` throws policy-core's `PolicyError`. */
export function* compileBundle(
  bundle: PolicyBundle,
  { former, source, home, ...deps }: CompileDeps,
): Steps<CompiledBundle> {
  const machineAddresses = deps.machineAddresses()
  if (former !== null && isSameContent(former, bundle, machineAddresses))
    return { ...former, bundle, source }
  const { resolve_unlisted_names, offline_allow } = bundle.settings
  const set = {
    policies: bundle.policies,
    local: deps.localPolicies,
    governed: true,
    machine_addresses: machineAddresses,
    resolve_unlisted_names,
    revision: bundle.revision,
    ...(home === null ? {} : { home }),
  }
  // The server does not bound the sum of path costs. A machine that refused a signed set for its
  // cost would have no policy.
  const compiled = yield* compileInSteps(set, { patternLimits: false })
  const offline =
    former !== null && isSameList(former.bundle.settings.offline_allow, offline_allow)
      ? former.offline
      : compileOffline([...deps.controlPlane, ...offline_allow])
  return { kind: 'bundle', bundle, source, compiled, offline, machineAddresses, home }
}

/** Whether compiling would make what there is: only the times differ, as they do every hour. */
function isSameContent(
  former: CompiledBundle,
  { policies, revision, settings }: PolicyBundle,
  machineAddresses: readonly string[],
): boolean {
  const { bundle } = former
  return (
    bundle.policies === policies &&
    bundle.revision === revision &&
    bundle.settings.resolve_unlisted_names === settings.resolve_unlisted_names &&
    isSameList(bundle.settings.offline_allow, settings.offline_allow) &&
    isSameList(former.machineAddresses, machineAddresses)
  )
}

export function isSameList(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((value, index) => value === b[index])
}
