import { lint } from '@palisade/policy-analysis'

const findings = lint({
  policies: [
    {
      id: 'pol_web',
      name: 'public web',
      allowlist_v0: {
        rules: [
          {
            id: 'rule_api',
            name: 'the API',
            actions: ['connect:tcp'],
            decision: 'allow',
            resources: ['api.example.com:443', '**.github.io'],
          },
          {
            id: 'rule_internal',
            name: 'nothing internal',
            actions: ['connect:tcp'],
            decision: 'deny',
            resources: ['**.example.com'],
          },
        ],
      },
    },
  ],
})

for (const { severity, code, rules, message, mend } of findings)
  console.log(`${severity} ${code} (${rules[0]?.rule_name}): ${message}; ${mend}`)
console.log(findings.some(({ severity }) => severity !== 'info') ? 'to be mended' : 'good')
