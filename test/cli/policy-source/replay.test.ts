import { describe, expect, it } from 'vitest'
import { openCliOrganization, WEB } from './organization.ts'

describe('palisade plan --replay', () => {
  it('refuses a period that it cannot read', async () => {
    await using organization = await openCliOrganization()
    await organization.directory.write('web.yaml', WEB)

    const { code, err } = await organization.run(['plan', 'web.yaml', '--replay', 'long'])

    expect(code).toBe(2)
    expect(err).toContain('`--replay` must be an age such as `30d`')
  })
})

describe('palisade apply --require-replay', () => {
  it('refuses `--max-denied` alone, and one that is no number', async () => {
    await using organization = await openCliOrganization()
    await organization.directory.write('web.yaml', WEB)
    const { run } = organization

    const alone = await run(['apply', 'web.yaml', '--yes', '--max-denied', '3'])
    const word = await run(['apply', 'web.yaml', '--yes', '--require-replay', '--max-denied=few'])

    expect(alone).toMatchObject({ code: 2, err: expect.stringContaining('--require-replay') })
    expect(word).toMatchObject({ code: 2, err: expect.stringContaining('whole number') })
  })
})
