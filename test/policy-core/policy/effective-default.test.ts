import { expect, it } from 'vitest'
import { effectiveDefault } from '@palisade/policy-core'

it.each([
  [[], 'enforce'],
  [[undefined, null], 'enforce'],
  [['observe'], 'observe'],
  [[undefined, 'observe', null], 'observe'],
  [['observe', 'observe'], 'observe'],
  [['observe', 'enforce'], 'enforce'],
  [['enforce', 'observe'], 'enforce'],
  [[undefined, 'enforce'], 'enforce'],
  [['observe', 'OBSERVE'], 'enforce'],
  [[''], 'enforce'],
] as const)('the default of a user by the choices %j is `%s`', (chosen, expected) => {
  expect(effectiveDefault(chosen)).toBe(expected)
})
