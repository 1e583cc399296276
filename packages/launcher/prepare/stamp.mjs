import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

/**
 * Path of a value that the launcher keeps between runs: below node_modules, to be deleted with it.
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
 * @returns {Record<string, string>} empty if the stamp is missing or unreadable
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
