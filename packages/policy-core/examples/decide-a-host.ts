import { compilePolicy, decide } from '@palisade/policy-core'

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
            resources: ['example.com:443', '**.example.com:443'],
          },
          {
            id: 'rule_uploads',
            name: 'no uploads',
            actions: ['connect:tcp'],
            decision: 'deny',
            resources: ['uploads.example.com'],
          },
        ],
      },
    },
  ],
})

for (const host of ['API.Example.com.', 'uploads.example.com', 'example.org', 'not a host']) {
  const { decision, reason, rules } = decide(policy, { action: 'connect:tcp', host, port: 443 })
  console.log(`${host}: ${decision}, ${reason}`, ...rules.map((rule) => rule.resource))
}
