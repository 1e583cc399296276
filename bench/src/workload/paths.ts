import { drawResources, takeTurn, type Domain, type Zone } from './domain.ts'
import type { Random } from './random.ts'
import { EXTENSIONS, FOLDERS, WORDS } from './words.ts'

/** Folders of projects with `*` and `**` in every place; one zone in 24 starts with `/**`. */
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
  drawStranger: (random) => `/mnt/${folders(random)}/${folders(random)}/${fileName(random)}`,
  drawHostile: (random, zone, turn) => takeTurn(HOSTILE, turn)(instantiateAny(random, zone)),
  requestFor: (path) => ({ action: 'read', path }),
}

const HOSTILE: readonly (readonly [number, (path: string) => string])[] = [
  [3, (path) => `${path}/../../etc/passwd`],
  [1, (path) => path.replace('/', '//')],
  [1, (path) => `${path}/`],
  [1, (path) => `${path}\0.txt`],
  [1, (path) => `${path}/\u00e9t\u00e9`],
  [1, (path) => path.slice(1)],
  [1, (path) => path.toUpperCase()],
  [1, (path) => `${path}/${'x'.repeat(5000)}`],
  // Many segments that may begin the tail of a `**`: where a matcher that backtracks is slow.
  [5, (path) => `${path}${'/src/core'.repeat(200)}`],
]

function fileName({ pick, next }: Random): string {
  return next() < 0.1 ? `.${pick(EXTENSIONS)}` : `${pick(WORDS)}.${pick(EXTENSIONS)}`
}

function folders(random: Random): string {
  const draw = (): string => random.pick(random.next() < 0.5 ? FOLDERS : WORDS)
  return Array.from({ length: 1 + random.integer(3) }, draw).join('/')
}

function instantiateAny(random: Random, zone: Zone): string {
  return instantiate(random, random.pick(zone.resources).pattern)
}

function instantiate(random: Random, pattern: string): string {
  return pattern.replaceAll('**', () => folders(random)).replaceAll('*', () => random.pick(WORDS))
}
