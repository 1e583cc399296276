import { decide, pathDenies, runSteps } from '@palisade/policy-core'
import { compileBundle } from '../../policy/decision/compile-bundle.ts'
import type { StartDeps } from '../../sandbox/start-sandbox.ts'

/** Far away; the rules of a probe do not age. */
const NEVER = '9999-12-31T23:59:59.000Z'

/** Rules that open `workspace` and deny to read `denied` in it, in place of the policy's. */
export function probeView(
  workspace: string,
  denied: string,
): Pick<StartDeps['view'], 'active' | 'deniesOf'> {
  const rule = { id: 'opened', name: 'opened', decision: 'allow' as const }
  const rules = [
    { ...rule, actions: ['read', 'write'] as const, resources: [workspace, `${workspace}/**`] },
    {
      id: 'denied',
      name: 'denied',
      decision: 'deny' as const,
      actions: ['read'] as const,
      resources: [denied],
    },
  ]
  const name = 'Palisade self-probe of a sandbox'
  const bundle = runSteps(
    compileBundle(
      {
        revision: 0,
        issued_at: new Date(0).toISOString(),
        stale_at: NEVER,
        expires_at: NEVER,
        settings: { resolve_unlisted_names: false, offline_allow: [] },
        policies: [{ id: 'palisade_sandbox_probe', name, allowlist_v0: { rules } }],
        grants: [],
        unreadableGrants: 0,
        digest: '',
      },
      {
        machineAddresses: () => [],
        localPolicies: [],
        home: null,
        controlPlane: [],
        source: 'file',
        former: null,
      },
    ),
  )
  const enforced = { kind: 'bundle', bundle, allows: 'all', stale: false } as const
  return {
    active: {
      enforced: () => enforced,
      decide: (request) => decide(bundle.compiled, request),
    },
    deniesOf: pathDenies,
  }
}
