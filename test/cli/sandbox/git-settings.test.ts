import { describe, expect, it } from 'vitest'
import { readGitSettings } from '../../../packages/cli/src/sandbox/git-settings.ts'
import type { Captured } from '../../../packages/cli/src/runtime/programs/capture-program.ts'

interface Call {
  readonly command: readonly string[]
  readonly env: Readonly<Record<string, string>>
}

async function read(
  captured: Captured,
  env: Readonly<Record<string, string>> = {},
  calls: Call[] = [],
) {
  const { identity, authorities } = await readGitSettings({
    env,
    home: '/home/dev',
    cwd: '/home/dev',
    captureProgram: async (command, given) => {
      calls.push({ command, env: given })
      return captured
    },
  })
  return { ...Object.fromEntries(identity), authorities }
}

const ended = (...entries: readonly string[]): Captured => ({
  kind: 'ended',
  code: 0,
  output: entries.map((entry) => `file:/home/dev/.gitconfig\0${entry}\0`).join(''),
})
const PERSON = ended('user.name\nDev Eloper', 'user.email\ndev@example.com')

describe('the git settings of the person', () => {
  it('are name and address of author and committer', async () => {
    expect(await read(PERSON)).toEqual({
      GIT_AUTHOR_NAME: 'Dev Eloper',
      GIT_AUTHOR_EMAIL: 'dev@example.com',
      GIT_COMMITTER_NAME: 'Dev Eloper',
      GIT_COMMITTER_EMAIL: 'dev@example.com',
      authorities: null,
    })
  })

  it('are the last of several, those of a role first, and variables before', async () => {
    const settings = ended(
      'user.email\nold@example.com',
      'user.email\nwork@example.com',
      'committer.name\nRobot',
      'http.sslcainfo\n~/corp.pem',
    )

    expect(await read(settings, { GIT_AUTHOR_EMAIL: 'me@example.com', EMAIL: 'x@y.z' })).toEqual({
      GIT_AUTHOR_EMAIL: 'me@example.com',
      GIT_COMMITTER_NAME: 'Robot',
      GIT_COMMITTER_EMAIL: 'work@example.com',
      authorities: '/home/dev/corp.pem',
    })
  })

  it.each<Captured>([
    { kind: 'missing' },
    { kind: 'timeout' },
    { kind: 'ended', code: 1, output: '' },
    ended('user.name\n', 'core.pager\nless'),
    ended('fatal: bad config line 1 in file .git/config\n'),
  ])('are none after %j', async (captured) => {
    expect(await read(captured)).toEqual({ authorities: null })
  })

  it('are read after a warning of git', async () => {
    const warned = ended('user.name\nDev', 'warning: unable to access\nuser.email\nd@e.f')

    expect(await read(warned)).toMatchObject({ GIT_AUTHOR_NAME: 'Dev', GIT_AUTHOR_EMAIL: 'd@e.f' })
  })

  it('are read by the git of the system, because the PATH may lead into a workspace', async () => {
    const calls: Call[] = []
    const env = {
      PATH: '/home/dev/project/node_modules/.bin:/usr/bin',
      HOME: '/home/dev',
      GIT_CONFIG_GLOBAL: '/home/dev/git',
      LD_PRELOAD: '/home/dev/project/a.so',
      GIT_DIR: '/home/dev/project/hostile',
      GIT_EXEC_PATH: '/home/dev/project',
    }

    await read(PERSON, env, calls)

    expect(calls.map(({ command }) => command.slice(0, 3))).toEqual([['git', 'config', '-z']])
    expect(calls[0]?.env).toEqual({
      PATH: '/usr/local/bin:/usr/bin:/bin',
      HOME: '/home/dev',
      GIT_CONFIG_GLOBAL: '/home/dev/git',
    })
  })
})
