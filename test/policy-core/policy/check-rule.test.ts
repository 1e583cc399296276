import { checkRule } from '@palisade/policy-core'
import { expect, test } from 'vitest'

const RULE = {
  actions: ['connect:tcp'] as const,
  decision: 'allow' as const,
  resources: ['a.test'],
}

test('a rule that compiles has no problem', () => {
  expect(checkRule(RULE)).toEqual([])
})

test.each([
  ['no action', { actions: [] }, 'actions', 'write one of `connect:tcp`'],
  ['an unknown action', { actions: ['connect:tcp', 'exec'] }, 'actions', '`exec` is not an action'],
  ['two domains', { actions: ['connect:tcp', 'read'] }, 'actions', 'different domains'],
  ['an unknown decision', { decision: 'audit' }, 'decision', 'write `allow` or `deny`'],
  ['no resource', { resources: [] }, 'resources', 'write at least one'],
  [
    'a bad resource',
    { resources: ['a.test', 'a.test:'] },
    'resources[1]',
    'write `a.test` for every port',
  ],
])('a rule with %s is refused', (_title, change, member, message) => {
  const problems = checkRule({ ...RULE, ...change } as typeof RULE)

  expect(problems).toHaveLength(1)
  expect(problems[0]?.member).toBe(member)
  expect(problems[0]?.message).toContain(message)
})

test('mixed domains are told apart from other problems, before resources are looked at', () => {
  expect(checkRule({ ...RULE, actions: ['connect:tcp', 'read'], resources: ['*'] })).toMatchObject([
    { reason: 'domain_mismatch' },
  ])
})

test('what was written is quoted as one harmless line', () => {
  const [problem] = checkRule({ ...RULE, resources: [`\u001b[31m\n${'x'.repeat(500)}`] })

  expect(problem?.message).not.toMatch(/\p{Cc}/u)
  expect(problem?.message.length).toBeLessThan(300)
})
