import { NETWORK_ACTIONS, type Policy } from '@palisade/policy-core'
import { PROBE_NAMES } from '@palisade/protocol'

/**
 * A deny of the refused canary, compiled with every bundle. A rule, not a check beside the rules:
 * the canary then takes the path of all requests. A deny overrides each allow and each mode, so the
 * canary is refused also where an organization allows `**.internal`.
 */
export const PROBE_POLICY: Policy = {
  id: 'palisade_self_probe',
  name: 'Palisade self-probe',
  allowlist_v0: {
    rules: [
      {
        id: 'refused_canary',
        name: 'refused canary',
        actions: NETWORK_ACTIONS,
        decision: 'deny',
        resources: [PROBE_NAMES.refused, `**.${PROBE_NAMES.refused}`],
      },
    ],
  },
}
