import { execFileSync, type StdioOptions } from 'node:child_process'
import { viewScene, type ViewScene } from '../../fixture/view-scene.ts'

const STDIO: StdioOptions = ['ignore', 'pipe', 'ignore']

/** Git outside, as the user of the workspace. */
export function git(scene: ViewScene, ...words: readonly string[]): string {
  const env = {
    PATH: process.env['PATH'],
    HOME: scene.home,
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_AUTHOR_NAME: 'a',
    GIT_AUTHOR_EMAIL: 'a@b.c',
    GIT_COMMITTER_NAME: 'a',
    GIT_COMMITTER_EMAIL: 'a@b.c',
  }
  const identity = scene.user ?? {}
  return execFileSync('git', words, {
    cwd: scene.ws,
    env,
    encoding: 'utf8',
    stdio: STDIO,
    ...identity,
  })
}

/** Looks around as an editor does. The directory need not be a repository. */
export function look(scene: ViewScene, directory: string): void {
  for (const words of [['status'], ['-C', directory, 'status'], ['-C', directory, 'log']])
    try {
      git(scene, ...words)
    } catch {
      // Git says what is wrong.
    }
}

/** The repository of the person, with one commit. */
export async function repositoryScene(user?: ViewScene['user']): Promise<ViewScene> {
  const scene = await viewScene(user)
  git(scene, 'init', '--quiet')
  git(scene, 'commit', '--quiet', '--allow-empty', '-m', 'first')
  return scene
}
