import { join } from 'node:path'
import {
  install,
  uninstall,
  type ServiceOptions,
  type ServiceEnvironment,
} from '../../../agent/src/service/service-commands.ts'
import { temporaryDirectory } from '../fixture/temporary-directory.ts'

export const UNIT = '.config/systemd/user/palisade-agent.service'
export const PAGES = ['.local/share/man/man1/palisade.1', '.local/share/man/man8/palisade-agent.8']

export function readOptions(words: readonly string[]): ServiceOptions {
  const has = (word: string): boolean => words.includes(word)
  const dataDir = words[words.indexOf('--data-dir') + 1]
  return {
    ...(has('--user') ? { user: true } : {}),
    ...(has('--system') ? { system: true } : {}),
    ...(has('--print') ? { print: true } : {}),
    ...(has('--purge') ? { purge: true } : {}),
    ...(has('--data-dir') && dataDir !== undefined ? { dataDir } : {}),
  }
}

/** The commands in an empty home directory of a machine with systemd. */
export async function startMachine(changes: Partial<ServiceEnvironment> = {}) {
  const home = await temporaryDirectory()
  const run = async (name: string, ...words: readonly string[]): Promise<string> => {
    const printed: string[] = []
    await (name === 'install' ? install : uninstall)(readOptions(words), {
      env: {},
      cwd: home,
      home,
      uid: 1_000,
      isSystemdRunning: true,
      command: ['/opt/node', '/opt/palisade-agent.cjs', 'start'],
      print: (text) => printed.push(text),
      ...changes,
    })
    return printed.join('')
  }
  return { home, run, unit: join(home, UNIT), files: [UNIT, ...PAGES].map((at) => join(home, at)) }
}
