import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

/**
 * What the launcher remembers between runs lives below node_modules: it goes when they go.
 *
 * @param {string} root
 * @param {string} name
 */
export function stampPath(root, name) {
  return join(root, 'node_modules', '.palisade', name)
}

/**
 * @param {string} root
 * @param {string} name
 * @returns {Record<string, string>} empty when there is none, or none that can be read
 */
export function readStamp(root, name) {
  try {
    const value = JSON.parse(readFileSync(stampPath(root, name), 'utf8'))
    return typeof value === 'object' && value !== null ? value : {}
  } catch {
    return {}
  }
}

/**
 * @param {string} root
 * @param {string} name
 * @param {Record<string, string>} value
 */
export function writeStamp(root, name, value) {
  const path = stampPath(root, name)
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(`${path}.${process.pid}`, JSON.stringify(value))
  renameSync(`${path}.${process.pid}`, path)
}
