import { compilePolicy, explain } from '@palisade/policy-core'

const policy = compilePolicy({
  policies: [
    {
      id: 'pol_web',
      name: 'public web',
      allowlist_v0: {
        rules: [
          {
            id: 'rule_example',
            name: 'example sites',
            actions: ['connect:tcp'],
            decision: 'allow',
            resources: ['*.example.com:443'],
          },
        ],
      },
    },
  ],
})

for (const [host, port] of [
  ['example.com', 443],
  ['api.example.com', 80],
] as const) {
  const { near_misses, hint } = explain(policy, { action: 'connect:tcp', host, port })
  for (const { rule_name, miss, message } of near_misses)
    console.log(`${rule_name}: ${miss}: ${message}`)
  console.log(`would help: ${hint}`)
}
