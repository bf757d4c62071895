import ts from 'typescript';

/** What a matcher says about the type of the value that it is given: one of these kinds must be possible. */
const kinds = {
  toBeUndefined: ts.TypeFlags.Undefined,
  toBeDefined: ts.TypeFlags.Undefined,
  toBeNull: ts.TypeFlags.Null,
};
const anything = ts.TypeFlags.Any | ts.TypeFlags.Unknown | ts.TypeFlags.TypeParameter | ts.TypeFlags.Void;

/**
 * `expect(value).toBeUndefined()` where the type of `value` has no `undefined` can only fail, and `toBeDefined` and `.not` of it can only
 * pass. Each is a test that says nothing of the code: the type says it already, or the test was written for another type.
 */
export default {
  meta: {
    type: 'problem',
    schema: [],
    messages: {
      decided: 'The type of this value ({{type}}) decides {{matcher}} already: it never changes its answer.',
    },
  },
  create(context) {
    const { program, esTreeNodeToTSNodeMap } = context.sourceCode.parserServices;
    const checker = program.getTypeChecker();
    return {
      CallExpression(node) {
        const checked = checkedBy(node);
        if (checked === undefined) return;
        const type = checker.getTypeAtLocation(esTreeNodeToTSNodeMap.get(checked.value));
        if (isPossible(type, kinds[checked.matcher])) return;
        const data = { type: checker.typeToString(type), matcher: checked.matcher };
        context.report({ node, messageId: 'decided', data });
      },
    };
  },
};

/** The value and the matcher of `expect(value).matcher()`, or of `expect(value).not.matcher()`. */
function checkedBy({ callee }) {
  if (callee.type !== 'MemberExpression' || !Object.hasOwn(kinds, callee.property.name)) return undefined;
  const from = callee.object.property?.name === 'not' ? callee.object.object : callee.object;
  if (from.type !== 'CallExpression' || from.callee.name !== 'expect' || from.arguments.length === 0) return undefined;
  return { value: from.arguments[0], matcher: callee.property.name };
}

function isPossible(type, kind) {
  const parts = type.isUnion() ? type.types : [type];
  return parts.some(({ flags }) => (flags & (kind | anything)) !== 0);
}
