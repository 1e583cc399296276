import { compare, isNoWider } from '@palisade/policy-analysis'
import { compilePolicy } from '@palisade/policy-core'

const compileWith = (resources: string[]) =>
  compilePolicy({
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
              resources,
            },
            {
              id: 'rule_admin',
              name: 'no administration',
              actions: ['connect:tcp'],
              decision: 'deny',
              resources: ['**.admin.example.com'],
            },
          ],
        },
      },
    ],
  })

/** The policy as it is, and as a pull request would have it. */
const before = compileWith(['api.example.com:443', 'example.org'])
const after = compileWith(['**.example.com:443'])

const { reachable, blocked, complete } = compare(before, after)
for (const { action, resource, except } of reachable) {
  const unchanged = [...except.allowed, ...except.denied].join(', ')
  console.log(`reachable: ${action} ${resource}, but for ${unchanged || 'nothing'}`)
}
for (const { action, resource } of blocked) console.log(`blocked: ${action} ${resource}`)

const verdict = isNoWider(before, after)
if (!complete || verdict.answer !== 'yes')
  console.log('needs a review:', verdict.answer === 'no' ? verdict.witness : 'too much to compare')
