import { writeFile } from 'node:fs/promises'
import { userInfo } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { applyProfile } from '../../../../packages/cli/src/sandbox/profile/apply-profile.ts'
import type { RunRequest } from '../../../../packages/cli/src/sandbox/run-request.ts'
import { temporaryDirectory } from '../../../agent/fixture/temporary-directory.ts'

const TEXT = `profiles:
  npm:
    workspaces: ['.', '.:ro', lib:ro, /abs, ~/cache:ro]
    env: [TOKEN, UNSET, constructor]
    limits: {processes: 200, tmp: 512M}
    publish: ['8000', '3000:80']
    command: [npm, ci]
  other: {}
`

const REQUEST: RunRequest = {
  command: null,
  workspace: [],
  env: [],
  limit: [],
  publish: [],
  profile: 'a',
  strict: null,
}

async function apply(name: string, asked: Partial<RunRequest> = {}, text = TEXT) {
  const cwd = await temporaryDirectory()
  await writeFile(join(cwd, '.palisade.yaml'), text)
  const env = { TOKEN: 'secret', SHELL: '/bin/sh' }
  const request = { ...REQUEST, profile: name, ...asked }
  const from = { cwd, home: '/home/me', env, uid: userInfo().uid }
  return { cwd, applied: await applyProfile(name, request, from) }
}

describe('applyProfile', () => {
  it('adds its options, with paths relative to the file', async () => {
    const { applied, cwd } = await apply('npm')
    expect(applied).toMatchObject({
      request: {
        command: ['npm', 'ci'],
        workspace: [cwd, `${cwd}:ro`, `${cwd}/lib:ro`, '/abs', '/home/me/cache:ro'],
        env: ['TOKEN'],
        limit: ['processes=200', 'tmp=512M'],
        publish: ['8000', '3000:80'],
      },
    })
  })

  it('tells what it adds, without values', async () => {
    const { applied, cwd } = await apply('npm')
    const notice = applied.kind === 'applied' ? applied.notice : ''
    expect(notice).toContain(`palisade: profile npm of ${cwd}/.palisade.yaml: workspaces ${cwd}`)
    expect(notice).toContain(
      '; passes TOKEN; limits processes=200,tmp=512M; publishes 8000, 3000:80; ',
    )
    expect(notice).not.toContain('secret')
  })

  it('keeps the options of the person', async () => {
    const command = ['npm', 'test'] as const
    const asked = { command, workspace: ['x'], env: ['TOKEN=own'], limit: ['processes=9,files=9'] }
    const { applied } = await apply('npm', asked)
    expect(applied).toMatchObject({
      request: { command, env: ['TOKEN=own'], limit: ['tmp=512M', 'processes=9,files=9'] },
    })
    expect(applied.kind === 'applied' && applied.request.workspace.at(-1)).toBe('x')
  })

  it('lists the profiles for an unknown name, and for none', async () => {
    const problems = async (name: string) => {
      const { applied } = await apply(name)
      return applied.kind === 'refused' ? applied.problems.join('\n') : ''
    }
    expect(await problems('nmp')).toContain('has no profile `nmp`; it has npm, other')
    expect(await problems('')).toContain('name a profile of')
    expect(await problems('')).toContain('npm, other')
  })

  it('escapes what a terminal would obey', async () => {
    const { applied } = await apply('a', {}, 'profiles: {a: {workspaces: ["\\e[2J"]}}')
    const notice = applied.kind === 'applied' ? applied.notice : ''
    expect(notice).toContain(String.raw`\u001b[2J`)
  })

  it('says where it searched when there is no file', async () => {
    const cwd = await temporaryDirectory()
    const applied = await applyProfile('a', REQUEST, { cwd, home: '/', env: {}, uid: 0 })
    expect(applied).toMatchObject({ kind: 'refused', problems: [expect.stringContaining('here')] })
  })
})
