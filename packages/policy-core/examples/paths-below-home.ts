import { compilePolicy, decide } from '@palisade/policy-core'

const policy = compilePolicy({
  home: '/home/dev',
  policies: [
    {
      id: 'pol_files',
      name: 'files',
      allowlist_v0: {
        rules: [
          {
            id: 'rule_work',
            name: 'work',
            actions: ['read', 'write'],
            decision: 'allow',
            resources: ['~/work/**'],
          },
          {
            id: 'rule_keys',
            name: 'keys',
            actions: ['read', 'write'],
            decision: 'deny',
            resources: ['/**/*.pem', '/**/.env'],
          },
        ],
      },
    },
  ],
})

for (const path of ['/home/dev/work/app/main.ts', '/home/dev/work/app/.env', '/etc/passwd']) {
  const { decision, hint } = decide(policy, { action: 'read', path })
  console.log(`${path}: ${decision}${hint === null ? '' : `; would help: ${hint}`}`)
}
