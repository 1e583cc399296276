import { canonicalHost, compilePolicy, decide } from '@palisade/policy-core'

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

/** Stands for DNS. Somebody made one of the names point at the cloud's metadata service. */
const records = new Map([
  ['api.example.com', ['192.0.2.7', '192.0.2.8']],
  ['evil.example.com', ['169.254.169.254', '192.0.2.9']],
])

function lookUp(host: string): string[] {
  const canonical = canonicalHost(host)
  return canonical?.kind === 'name' ? (records.get(canonical.name) ?? []) : []
}

/** The addresses to dial, and no others. A name that nobody allowed is never looked up. */
function addressesToDial(host: string, port: number): string[] {
  const ask = (address?: string) => decide(policy, { action: 'connect:tcp', host, port, address })
  const first = ask()
  const decisions = first.address_required ? lookUp(host).map((address) => ask(address)) : [first]
  return decisions.flatMap(({ decision, request }) =>
    decision === 'allow' && request !== null && 'host' in request ? (request.address ?? []) : [],
  )
}

for (const host of ['API.example.com', 'evil.example.com', 'example.org', '192.0.2.7'])
  console.log(`${host}: ${addressesToDial(host, 443).join(', ') || 'nothing to dial'}`)
