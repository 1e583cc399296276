import { compilePolicy, PolicyError } from '@palisade/policy-core'

try {
  compilePolicy({
    policies: [
      {
        id: 'pol_web',
        name: 'public web',
        allowlist_v0: {
          rules: [
            {
              id: 'rule_office',
              name: 'office',
              actions: ['connect:tcp'],
              decision: 'allow',
              resources: ['https://example.com/login', '10.0.0.1/8', 'a*.example.com'],
            },
          ],
        },
      },
    ],
  })
} catch (error) {
  if (!(error instanceof PolicyError)) throw error
  console.log(error.code)
  for (const { rule_name, member, message } of error.problems)
    console.log(`${rule_name} ${member}: ${message}`)
}
