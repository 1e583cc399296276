import { readFileSync } from 'node:fs'

/** Release of this server, as its package says. */
export function readVersion(): string {
  const here = import.meta.url
  // A bundle stands at the root of what the sources compile to, and this module in a folder of it.
  const path = here.endsWith('.cjs') ? '../package.json' : '../../package.json'
  const manifest = readFileSync(new URL(path, here), 'utf8')
  return (JSON.parse(manifest) as { version: string }).version
}
