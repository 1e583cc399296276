import { drawResources, type Domain, type HostileKind } from './domain.ts'
import type { Random } from './random.ts'
import { EXTENSIONS, FOLDERS, WORDS } from './words.ts'

/** Project folders with `*` and `**` in every position. One zone in 24 starts with `/**`. */
export const paths: Domain = {
  name: 'paths',
  action: 'read',
  drawZone(random, index) {
    const { pick } = random
    if (index % 24 === 23) {
      const root = `/**/.${pick(WORDS)}${index.toString(36)}`
      return { root, resources: [{ pattern: `${root}/**`, decision: 'deny' }] }
    }
    const root = `/${pick(FOLDERS)}/${pick(WORDS)}-${index.toString(36)}`
    const below = (): string => `${root}${random.next() < 0.5 ? '' : `/${pick(WORDS)}`}`
    const resources = drawResources(random, 4 + random.integer(8), () =>
      random.weighted([
        [35, () => `${below()}/${pick(FOLDERS)}/${fileName(random)}`],
        [15, () => `${below()}/*`],
        [20, () => `${below()}/${pick(FOLDERS)}/**`],
        [8, () => `${below()}/*/${pick(FOLDERS)}`],
        [10, () => `${below()}/**/${pick(FOLDERS)}/*.${pick(EXTENSIONS)}`],
        [12, () => `${below()}/${pick(FOLDERS)}/*.${pick(EXTENSIONS)}`],
      ])(),
    )
    return { root, resources }
  },
  drawRequest(random, zone) {
    if (random.next() < 0.3)
      return `${instantiate(random, zone.root)}/${folders(random)}/${fileName(random)}`
    const path = instantiate(random, random.pick(zone.resources).pattern)
    return random.next() < 0.2 ? `${path}/${fileName(random)}` : path
  },
  drawOutside: (random) => `/mnt/${folders(random)}/${folders(random)}/${fileName(random)}`,
  drawInside: (random, zone) => instantiate(random, random.pick(zone.resources).pattern),
  hostile: hostileKinds(),
  requestFor: (path) => ({ action: 'read', path }),
}

function hostileKinds(): readonly HostileKind[] {
  return [
    { name: 'dot-dot', weight: 3, make: (path) => `${path}/../../etc/passwd` },
    { name: 'empty segment', weight: 1, make: (path) => path.replace('/', '//') },
    { name: 'trailing slash', weight: 1, make: (path) => `${path}/` },
    { name: 'NUL', weight: 1, make: (path) => `${path}\0.txt` },
    { name: 'letters beyond ASCII', weight: 1, make: (path) => `${path}/\u00e9t\u00e9` },
    { name: 'relative', weight: 1, make: (path) => path.slice(1) },
    { name: 'upper case', weight: 1, make: (path) => path.toUpperCase() },
    { name: '5,000 characters', weight: 1, make: (path) => `${path}/${'x'.repeat(5000)}` },
    // Many segments at which the tail of a `**` may begin, the slow case of a backtracking matcher.
    { name: '400 segments', weight: 5, make: (path) => `${path}${'/src/core'.repeat(200)}` },
    { name: '2,000 segments', weight: 0, make: (path) => `${path}${'/a'.repeat(2000)}` },
    { name: 'one long segment', weight: 0, make: (path) => `${path}/${'x'.repeat(4000)}` },
    { name: '64,000 characters', weight: 0, make: (path) => `${path}/${'x'.repeat(64_000)}` },
  ]
}

function fileName({ pick, next }: Random): string {
  return next() < 0.1 ? `.${pick(EXTENSIONS)}` : `${pick(WORDS)}.${pick(EXTENSIONS)}`
}

function folders(random: Random): string {
  const draw = (): string => random.pick(random.next() < 0.5 ? FOLDERS : WORDS)
  return Array.from({ length: 1 + random.integer(3) }, draw).join('/')
}

function instantiate(random: Random, pattern: string): string {
  return pattern.replaceAll('**', () => folders(random)).replaceAll('*', () => random.pick(WORDS))
}
