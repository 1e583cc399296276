import {
  compilePolicy,
  decide,
  effectivePolicies,
  type DecisionRequest,
  type Policy,
} from '@palisade/policy-core'

const PAYMENTS = 'd2901f6e-6b1c-4b53-a9f5-35ee0f1f7f11'

/** All policies of the organization, as its server lists them. */
const policies: Policy[] = [
  {
    id: 'pol_web',
    name: 'everybody',
    scope: {},
    allowlist_v0: {
      rules: [
        {
          id: 'rule_docs',
          name: 'documentation',
          actions: ['connect:tcp'],
          decision: 'allow',
          resources: ['docs.example.com:443'],
        },
      ],
    },
  },
  {
    id: 'pol_payments',
    name: 'payments',
    scope: { teams: [PAYMENTS] },
    allowlist_v0: {
      rules: [
        {
          id: 'rule_bank',
          name: 'the bank',
          actions: ['connect:tcp'],
          decision: 'allow',
          resources: ['bank.example.com:443'],
        },
      ],
    },
  },
]

const request: DecisionRequest = { action: 'connect:tcp', host: 'bank.example.com', port: 443 }

for (const [user, teams] of [
  ['alice', [PAYMENTS]],
  ['bob', []],
] as const) {
  const compiled = compilePolicy({ policies: effectivePolicies(policies, teams) })
  const { decision, reason } = decide(compiled, request)
  console.log(`${user}: ${decision}, ${reason}`)
}
