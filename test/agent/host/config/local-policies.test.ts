import { mkdtemp, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { readLocalPolicies } from '../../../../agent/src/host/config/read-local-policies.ts'
import { AgentError } from '../../../../agent/src/host/errors.ts'
import { policyOf } from '../../fixture/bundle.ts'
import { removeDirectory } from '../../../remove-directory.ts'

const directory = await mkdtemp(join(tmpdir(), 'palisade-test-'))
afterAll(() => removeDirectory(directory))

async function problemsOf(work: () => unknown): Promise<readonly string[]> {
  try {
    await work()
  } catch (error) {
    if (error instanceof AgentError) return error.problems
    throw error
  }
  return []
}

async function fileOf(text: string, name = 'local.json'): Promise<string> {
  const path = join(directory, name)
  await writeFile(path, text)
  return path
}

const YAML = `# Mine.
local:
  - name: mine
    rules:
      - name: no telemetry
        actions: [connect:tcp]
        decision: deny
        resources: [telemetry.example.com]
`

describe('the local policies', () => {
  it('are read from a file', async () => {
    const path = await fileOf(JSON.stringify({ local: [policyOf(['deny', 'read', '/data/**'])] }))

    expect(await readLocalPolicies(path)).toMatchObject([{ id: 'pol_1' }])
  })

  const named = {
    id: 'mine',
    name: 'mine',
    allowlist_v0: {
      rules: [
        {
          id: 'no telemetry',
          name: 'no telemetry',
          actions: ['connect:tcp'],
          decision: 'deny',
          resources: ['telemetry.example.com'],
        },
      ],
    },
  }

  it('may be written in YAML by name, as an organization keeps its own', async () => {
    expect(await readLocalPolicies(await fileOf(YAML, 'local.yaml'))).toEqual([named])
    expect(await readLocalPolicies(await fileOf(YAML, 'local.yml'))).toEqual([named])
  })

  it('may be written in JSON by name', async () => {
    const rules = [
      {
        name: 'no telemetry',
        actions: ['connect:tcp'],
        decision: 'deny',
        resources: ['telemetry.example.com'],
      },
    ]

    const path = await fileOf(JSON.stringify({ local: [{ name: 'mine', rules }] }))

    expect(await readLocalPolicies(path)).toEqual([named])
  })

  it.each([
    ['an unknown action', ['connect:tcp]', 'connect]'], ':6:19: `connect` is not known; write one'],
    ['a URL', ['[telemetry', '[https://telemetry'], ':8:21: `https://telemetry.example.com` is a'],
    ['a misspelt member', ['decision', 'desicion'], ':7:9: unknown member `desicion`; did you'],
    ['a scope', ['    rules', '    scope: {}\n    rules'], ':4:5: unknown member `scope`; write'],
    ['a rule without decision', ['        decision: deny\n', ''], ':5:9: `decision` is missing'],
    [
      'an alias',
      ['[telemetry.example.com]', '*x'],
      ': alias `*x` is not read; write it out at line 8',
    ],
  ])('are refused in YAML for %s, with file, line and column', async (_what, [from, to], words) => {
    const path = await fileOf(YAML.replace(from ?? '', to ?? ''), 'wrong.yaml')

    const problems = await problemsOf(() => readLocalPolicies(path))

    expect(problems.join('\n')).toContain(`${path}${words}`)
  })

  it('are refused when two have the same name', async () => {
    const [, second = ''] = YAML.split('local:\n')
    const path = await fileOf(`${YAML}${second}`, 'twice.yaml')

    expect(await problemsOf(() => readLocalPolicies(path))).toEqual([
      `${path}:9:5: policy \`mine\` stands already at ${path}:3:5`,
    ])
  })

  it('are not confused with policies of an organization', async () => {
    const path = await fileOf(YAML.replace('local:', 'policies:'), 'theirs.yaml')

    expect(await problemsOf(() => readLocalPolicies(path))).toEqual([
      `${path}: \`policies\` belong to an organization; write \`local\` for rules of this machine`,
    ])
  })

  it.each([
    ['is missing', () => join(directory, 'nothing.json'), ['no such file or directory']],
    ['is not JSON', () => fileOf('local:'), ['line 1, column 1']],
    ['has no `local`', () => fileOf('{}'), ['`local` is missing; write `local: []` for none']],
    [
      'holds policies of the organization',
      () => fileOf('{"local":[],"policies":[]}'),
      ['policies'],
    ],
    [
      'has an unknown action',
      () =>
        fileOf(
          JSON.stringify({ local: [policyOf(['deny', 'read', '/x'])] }).replace('"read"', '"look"'),
        ),
      ['rule `Rule 1` (rule_1): actions[0]: `look` is not known; write one of `connect:tcp`'],
    ],
    [
      'has patterns that do not compile',
      () =>
        fileOf(
          JSON.stringify({
            local: [
              policyOf(
                ['deny', 'connect:tcp', '10.0.0.1/8', '*'],
                ['deny', 'connect:tcp', 'a*.test'],
              ),
            ],
          }),
        ),
      [
        'rule `Rule 1` (rule_1): resources[0]: ',
        'resources[1]: ',
        'rule `Rule 2` (rule_2): resources[0]: ',
      ],
    ],
    [
      'lacks a member',
      () => fileOf('{"local":[{"name":"mine","scope":{}}]}'),
      ['id: is missing; must be a string'],
    ],
  ])('are refused when the file %s', async (_what, make, words) => {
    const path = await make()

    const problems = await problemsOf(() => readLocalPolicies(path))

    expect(problems).toHaveLength(words.length)
    for (const [index, problem] of problems.entries()) {
      expect(problem).toContain(path)
      expect(problem).toContain(words[index])
    }
  })
})
