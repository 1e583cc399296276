import { compilePolicy, decide, runSteps } from '@palisade/policy-core'
import { expect, it } from 'vitest'
import { compileBundle } from '../../../../agent/src/policy/decision/compile-bundle.ts'
import type { PolicyBundle } from '../../../../agent/src/policy/decision/policy-bundle.ts'

function bundleOf(resources: readonly string[]): PolicyBundle {
  const rule = { id: 'r', name: 'r', actions: ['read' as const], decision: 'allow' as const }
  const rules = [{ ...rule, resources: [...resources] }]
  const policies = [{ id: 'p', name: 'p', allowlist_v0: { rules } }]
  const settings = { resolve_unlisted_names: false, offline_allow: [] }
  return { policies, revision: 1, settings } as unknown as PolicyBundle
}

it.each([
  ['33 `**` in a pattern', ['/**/a'.repeat(33)], '/a'.repeat(33)],
  ['a high path cost in total', [`/**${'/x'.repeat(1_900)}/**/y`], `${'/x'.repeat(1_900)}/y`],
])('a signed bundle beyond the cost limits still decides: %s', (_, resources, path) => {
  const bundle = bundleOf(resources)
  const { policies } = bundle
  expect(() => compilePolicy({ policies })).toThrow('policy `p`')

  const { compiled } = runSteps(
    compileBundle(bundle, {
      machineAddresses: () => [],
      localPolicies: [],
      home: null,
      controlPlane: [],
      source: 'server',
      former: null,
    }),
  )

  expect(decide(compiled, { action: 'read', path }).decision).toBe('allow')
  expect(decide(compiled, { action: 'read', path: '/b' }).decision).toBe('deny')
})
