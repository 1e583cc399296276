import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { LaunchError } from '../../../packages/launcher/prepare/launch-error.mjs'
import { captureChild } from '../../../packages/launcher/process/capture-child.mjs'

/** The content of the repository's one file. */
export const REPOSITORY_TEXT = 'cloned through the proxy\n'

/**
 * Makes a small bare repository that any static web server can serve (git's dumb HTTP protocol).
 */
export async function createRepository(folder: string, env: NodeJS.ProcessEnv): Promise<void> {
  const work = join(folder, 'work')
  const bare = join(folder, 'files', 'project.git')
  mkdirSync(work, { recursive: true })
  writeFileSync(join(work, 'README'), REPOSITORY_TEXT)
  const author = ['-c', 'user.name=demo', '-c', 'user.email=demo@demo.test']
  await git(['init', '--quiet', '--initial-branch=main', work], folder, env)
  await git(['-C', work, 'add', 'README'], folder, env)
  await git([...author, '-C', work, 'commit', '--quiet', '-m', 'first'], folder, env)
  await git(['clone', '--quiet', '--bare', work, bare], folder, env)
  await git(['-C', bare, 'update-server-info'], folder, env)
}

async function git(args: readonly string[], cwd: string, env: NodeJS.ProcessEnv): Promise<void> {
  const run = await captureChild('git', args, { cwd, env })
  if (run.code !== 0) throw new LaunchError(`git ${args.join(' ')} failed: ${run.output.trim()}`)
}
