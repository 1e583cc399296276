import { describe, expect, it } from 'vitest'
import type { Prompts } from '../../../packages/cli/src/terminal/prompts.ts'
import { openCliOrganization, WEB, type CliOrganization } from './organization.ts'

/** A user who gives one answer, and the questions asked. */
function person(answer: boolean | null, before: () => Promise<unknown> = async () => null) {
  const questions: string[] = []
  const prompts: Prompts = {
    text: async () => null,
    secret: async () => null,
    async confirm(message) {
      questions.push(message)
      await before()
      return answer
    },
  }
  return { prompts, questions }
}

async function names({ call }: CliOrganization): Promise<string[]> {
  const { policies } = (await call('GET', '/api/v1/orgs/acme/export')) as {
    policies: { name: string }[]
  }
  return policies.map(({ name }) => name)
}

describe('palisade apply', () => {
  it('shows the plan, asks, and applies the plan', async () => {
    await using organization = await openCliOrganization()
    await organization.directory.write('web.yaml', WEB)
    const { prompts, questions } = person(true)

    const applied = await organization.run(['apply', 'web.yaml'], { prompts })

    expect(applied).toMatchObject({ code: 0, err: '' })
    expect(applied.out).toContain('+ policy `web` for everybody')
    expect(applied.out).toMatch(/\napplied; acme is at revision 3\n$/)
    expect(questions).toEqual([
      'Apply to acme: 1 to create, 0 to change, 0 to delete, 0 unchanged?',
    ])
    expect(await names(organization)).toEqual(['web'])
  })

  it.each([[false], [null]])('changes nothing when the answer is %s', async (answer) => {
    await using organization = await openCliOrganization()
    await organization.directory.write('web.yaml', WEB)

    const cancelled = await organization.run(['apply', 'web.yaml'], person(answer))

    expect(cancelled).toMatchObject({ code: 1, err: 'error: nothing was changed\n' })
    expect(await names(organization)).toEqual([])
  })

  it('refuses without `--yes` and a terminal', async () => {
    await using organization = await openCliOrganization()
    await organization.directory.write('web.yaml', WEB)

    for (const argv of [
      ['apply', 'web.yaml'],
      ['apply', 'web.yaml', '--json'],
    ]) {
      const refused = await organization.run(argv)
      expect(refused).toMatchObject({ code: 2, out: '' })
      expect(refused.err).toContain('add `--yes`')
    }
    expect(await names(organization)).toEqual([])
  })

  it('does not ask if there is no change', async () => {
    await using organization = await openCliOrganization()
    await organization.directory.write('web.yaml', WEB)
    await organization.run(['apply', 'web.yaml', '--yes'])
    const { prompts, questions } = person(false)

    const again = await organization.run(['apply', 'web.yaml'], { prompts })

    expect(again).toMatchObject({ code: 0, err: '' })
    expect(questions).toEqual([])
  })

  it('changes nothing if another write comes between the plan and the answer', async () => {
    await using organization = await openCliOrganization()
    await organization.directory.write('web.yaml', WEB)
    const { prompts } = person(true, () =>
      organization.call('POST', '/v2/orgs/acme/governance/policies', { name: 'meanwhile' }),
    )

    const late = await organization.run(['apply', 'web.yaml', '--prune'], { prompts })

    expect(late.code).toBe(1)
    expect(late.err).toMatch(/^error: nothing was changed: somebody else [^\n]*\n$/)
    expect(await names(organization)).toEqual(['meanwhile'])
  })

  it('deletes only with --prune, and says so before', async () => {
    await using organization = await openCliOrganization()
    const { directory, run } = organization
    await directory.write('web.yaml', WEB)
    await directory.write('none.yaml', 'policies: []')
    await run(['apply', 'web.yaml', '--yes'])

    const kept = await run(['apply', 'none.yaml', '--yes'])
    expect(kept.out).toContain('left alone without `--prune`: `web`')
    expect(await names(organization)).toEqual(['web'])
    const pruned = await run(['apply', 'none.yaml', '--yes', '--prune'])

    expect(pruned.out).toContain('- policy `web` for everybody\n')
    expect(pruned.out).toContain('newly blocked')
    expect(await names(organization)).toEqual([])
  })

  it('prints one JSON object of the changes', async () => {
    await using organization = await openCliOrganization()
    await organization.directory.write('web.yaml', WEB)

    const done = await organization.run(['apply', 'web.yaml', '--yes', '--json'])
    const again = await organization.run(['apply', 'web.yaml', '--yes', '--json'])

    expect(JSON.parse(done.out)).toMatchObject({
      org: 'acme',
      dry_run: false,
      revision: 3,
      changes: [{ change: 'created', id: expect.stringMatching(/^pol_/) }],
    })
    expect(JSON.parse(again.out)).toMatchObject({ dry_run: false, changes: [], unchanged: 1 })
  })

  it('reports an unknown outcome if the answer is lost', async () => {
    await using organization = await openCliOrganization()
    await organization.directory.write('web.yaml', WEB)
    const cut: typeof fetch = async (input, init) => {
      const response = await fetch(input, init)
      const body = typeof init?.body === 'string' ? init.body : ''
      if (body.includes('"dry_run":false')) throw new TypeError('fetch failed')
      return response
    }

    const lost = await organization.run(['apply', 'web.yaml', '--yes'], { fetch: cut })

    expect(lost.code).toBe(1)
    expect(lost.err).toContain('it is not known whether the changes were made')
    expect(await names(organization)).toEqual(['web'])
  })
})
