import { accessSync, constants } from 'node:fs'
import { HolderError } from './holder/start-holder.ts'
import type { Launch } from './launch/trampoline.ts'

/** Directories of the system's programs: the `PATH` of a person may lead into a workspace. */
const DIRECTORIES = ['/usr/bin', '/usr/sbin', '/bin', '/sbin'] as const

/** The programs by the package that has them, on Debian and Ubuntu. */
const PACKAGES: Readonly<Record<string, string>> = {
  bwrap: 'bubblewrap',
  nft: 'nftables',
  ip: 'iproute2',
  unshare: 'util-linux',
  nsenter: 'util-linux',
  setpriv: 'util-linux',
  mount: 'mount',
  env: 'coreutils',
}

/** Finds the programs that make a sandbox. Throws `HolderError` that names those missing. */
export function findSandboxPrograms(): Launch['programs'] {
  const found = new Map(Object.keys(PACKAGES).map((name) => [name, findProgram(name)]))
  const missing = [...found].flatMap(([name, path]) => (path === null ? [name] : []))
  if (missing.length > 0) {
    const names = missing.map((name) => `\`${name}\``).join(', ')
    const packages = [...new Set(missing.map((name) => PACKAGES[name]))].join(' ')
    throw new HolderError(
      `a sandbox needs ${names}, not found on this machine; install ${packages}, for example ` +
        `with \`apt-get install ${packages}\``,
    )
  }
  const pathOf = (name: string): string => found.get(name) ?? name
  return {
    setpriv: pathOf('setpriv'),
    nsenter: pathOf('nsenter'),
    bubblewrap: pathOf('bwrap'),
    env: pathOf('env'),
  }
}

function findProgram(name: string): string | null {
  for (const directory of DIRECTORIES) {
    const path = `${directory}/${name}`
    try {
      accessSync(path, constants.X_OK)
      return path
    } catch {
      continue
    }
  }
  return null
}
