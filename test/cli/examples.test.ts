import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { runCli } from './run-cli.ts'

const EXAMPLES = fileURLToPath(new URL('../../examples/', import.meta.url))

/** One outcome for each line of requests.ndjson: decision, reason, and deciding rules. */
const EXPECTED = [
  'allow rule rule_npm address_required',
  'allow rule rule_npm',
  'deny protected_address',
  'allow rule rule_npm address_required',
  'deny default_deny',
  'allow rule rule_github address_required',
  'deny default_deny',
  'deny rule rule_gists',
  'allow rule rule_github_content address_required',
  'deny default_deny',
  'deny rule mine_1',
  'deny default_deny',
  'allow rule rule_office',
  'deny rule rule_production',
  'deny rule rule_production',
  'deny rule rule_production',
  'deny protected_address',
  'deny protected_address',
  'deny rule rule_telemetry',
  'allow rule rule_models address_required',
  'deny default_deny',
  'deny default_deny',
  'allow rule rule_work',
  'deny rule rule_secrets',
  'deny default_deny',
  'deny invalid_request',
  'deny rule rule_production',
  'deny invalid_request',
  'deny invalid_request',
  'deny invalid_request',
]

interface Answer {
  readonly decision: string
  readonly reason: string
  readonly rules: readonly { readonly rule_id: string }[]
  readonly address_required?: true
}

it('decides the example requests as their README says', async () => {
  const argv = ['check', '--policies', 'policies.json', '--batch', 'requests.ndjson']
  const result = await runCli(argv, { cwd: EXAMPLES })

  const outcomes = result.out
    .trimEnd()
    .split('\n')
    .map((line) => {
      const { decision, reason, rules, address_required } = JSON.parse(line) as Answer
      const open = address_required === true ? ['address_required'] : []
      return [decision, reason, ...rules.map((rule) => rule.rule_id), ...open].join(' ')
    })
  expect(result).toMatchObject({ code: 0, err: '' })
  expect(outcomes).toEqual(EXPECTED)
  const requests = await readFile(`${EXAMPLES}requests.ndjson`, 'utf8')
  expect(requests.trimEnd().split('\n')).toHaveLength(EXPECTED.length)
})
