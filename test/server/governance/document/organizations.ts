import * as fc from 'fast-check'

const NAMES = ['a', 'b', 'c', 'A', 'é', 'x y'] as const
const RULES = {
  network: {
    actions: [['connect:tcp'], ['connect:udp'], ['connect:udp', 'connect:tcp']],
    resources: [
      'example.com',
      '*.example.com:443',
      '10.0.0.0/8',
      'Example.COM:80',
      '[2001:db8::1]:443',
    ],
  },
  filesystem: {
    actions: [['read'], ['write', 'read']],
    resources: ['/data/**', '~/work/**', '/x/*.pem', '/'],
  },
} as const

/**
 * Generates organizations in the form of an export: sorted by name, with explicit scopes. The only
 * team is `backend`.
 */
export function organizations(names: readonly string[] = NAMES) {
  const scope = fc.constantFrom<{ teams?: string[] }>({}, {}, { teams: ['backend'] })
  const policy = fc.record(
    {
      name: fc.constantFrom(...names),
      scope,
      mode: fc.constant('shadow' as const),
      rules: rules(),
    },
    { requiredKeys: ['name', 'scope', 'rules'] },
  )
  return fc
    .uniqueArray(policy, { selector: ({ name }) => name, maxLength: 5 })
    .map((policies) => policies.toSorted((a, b) => (a.name < b.name ? -1 : 1)))
}

function rules() {
  return fc.constantFrom('network' as const, 'filesystem' as const).chain((domain) =>
    fc.uniqueArray(
      fc.record(
        {
          name: fc.constantFrom(...NAMES),
          actions: fc.constantFrom(...RULES[domain].actions).map((actions) => [...actions]),
          decision: fc.constantFrom('allow' as const, 'deny' as const),
          resources: fc.array(fc.constantFrom(...RULES[domain].resources), {
            minLength: 1,
            maxLength: 3,
          }),
          expires_at: fc.constantFrom('1999-01-01T00:00:00.000Z', '2027-01-01T00:00:00.000Z'),
        },
        { requiredKeys: ['name', 'actions', 'decision', 'resources'] },
      ),
      { selector: ({ name }) => name, maxLength: 4 },
    ),
  )
}
