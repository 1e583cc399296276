import { checkRule } from '@palisade/policy-core'
import { expect, test } from 'vitest'

const RULE = {
  actions: ['connect:tcp'] as const,
  decision: 'allow' as const,
  resources: ['a.test'],
}

test('a valid rule has no problems', () => {
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
])('a rule with %s is rejected', (_title, change, member, message) => {
  const problems = checkRule({ ...RULE, ...change } as typeof RULE)

  expect(problems).toHaveLength(1)
  expect(problems[0]?.member).toBe(member)
  expect(problems[0]?.message).toContain(message)
})

test.each([
  ['`**`', '/**/a'.repeat(32), '/**/a'.repeat(33), 'has 33 `**`, and a pattern has at most 32'],
  ['`*`', `/${'a*'.repeat(64)}`, `/${'a*'.repeat(65)}`, 'has 65 `*`, and a pattern has at most 64'],
  ['names of `*` alone', '/*'.repeat(64), '/*'.repeat(65), 'has 65 `*`'],
])('a path pattern has a limited number of %s', (_title, most, more, message) => {
  const rule = { ...RULE, actions: ['read'] as const }

  expect(checkRule({ ...rule, resources: [most] })).toEqual([])
  expect(checkRule({ ...rule, resources: [most, more] })).toMatchObject([
    { member: 'resources[1]', message: expect.stringContaining(message) as string },
  ])
})

const NO_TEXT = Object.create(null) as object

test.each<[string, object, string, string]>([
  ['actions that are not a list', { actions: 7 }, 'actions', '`7` is not an array'],
  ['actions that are a string', { actions: 'read' }, 'actions', '`read` is not an array'],
  [
    'an action that is not a string',
    { actions: [NO_TEXT] },
    'actions',
    'an object is not an action',
  ],
  [
    'a decision that is not a string',
    { decision: NO_TEXT },
    'decision',
    'an object is not a decision',
  ],
  ['a decision in a list', { decision: ['allow'] }, 'decision', 'an array is not a decision'],
  ['no resources', { resources: undefined }, 'resources', '`undefined` is not an array'],
  [
    'a resource that is not a string',
    { resources: ['a.test', 7] },
    'resources[1]',
    '`7` is not a string',
  ],
  [
    'a hole among its resources',
    { resources: Object.assign(Array<string>(2), { 1: 'a.test' }) },
    'resources[0]',
    'is not a string',
  ],
])('a rule of a JavaScript caller with %s is rejected', (_title, change, member, message) => {
  expect(checkRule({ ...RULE, ...change })).toMatchObject([
    { member, message: expect.stringContaining(message) as string },
  ])
})

test.each([
  ['https://*.a.test:443/x', 'such as `*.a.test:443`'],
  ['https://../x', 'such as `example.com`'],
  ['me@a..test', 'such as `example.com`'],
  ['ex%61mple.com', 'write the name without percent-encoding'],
  ['10.0.0.0:443/8', 'write `10.0.0.0/8`'],
  ['10.0.0.0/255.0.0.0', 'write `10.0.0.0/8`'],
  ['10.1.2.3/255.255.0.0', 'write `10.1.0.0/16`'],
  ['10.0.0.0/255.0.255.0', 'from 0 to 32'],
])('the message for %s suggests a correction', (resource, mend) => {
  const [problem] = checkRule({ ...RULE, resources: [resource] })

  expect(problem?.message).toContain(mend)
})

test('a pattern that ends in `**/` gets one pattern as its correction', () => {
  const [problem] = checkRule({ ...RULE, actions: ['read'], resources: ['/data/**/'] })

  expect(problem?.message).toMatch(/write `\/data\/\*\*`$/)
})

test('a resource of many slashes is rejected in linear time', () => {
  const startedMs = performance.now()

  expect(
    checkRule({ ...RULE, actions: ['read'], resources: [`/a${'/'.repeat(200_000)}b/`] }),
  ).toHaveLength(1)
  expect(performance.now() - startedMs).toBeLessThan(10_000)
})

test('mixed domains have their own reason and are detected before resources are checked', () => {
  expect(checkRule({ ...RULE, actions: ['connect:tcp', 'read'], resources: ['*'] })).toMatchObject([
    { reason: 'domain_mismatch' },
  ])
})

test('input is quoted on one line without control characters', () => {
  const [problem] = checkRule({ ...RULE, resources: [`\u001b[31m\n${'x'.repeat(500)}`] })

  expect(problem?.message).not.toMatch(/\p{Cc}/u)
  expect(problem?.message.length).toBeLessThan(300)
})
