import ts from 'typescript';

/**
 * An object that is looked up by a text inherits `constructor`, `toString` and `__proto__`, which users may write as keys of
 * labels, resources and selectors. Such look-ups go through core/own.ts, which sees an object's own keys alone, or a Map.
 * Keys that are literals, or that are of a type of literals, are the program's own: they are not reported.
 */
export default {
  meta: {
    type: 'problem',
    schema: [],
    messages: {
      lookup:
        'Look up "{{object}}" by a text through lookUp() of core/own.ts, or make it a Map: texts such as "constructor" are inherited.',
      membership: 'Ask hasOwn() of core/own.ts instead of "in": texts such as "constructor" are inherited.',
    },
  },
  create(context) {
    const { program, esTreeNodeToTSNodeMap } = context.sourceCode.parserServices;
    const checker = program.getTypeChecker();
    const typeOf = (node) => checker.getTypeAtLocation(esTreeNodeToTSNodeMap.get(node));
    const isText = (node) => {
      const type = typeOf(node);
      const parts = type.isUnion() ? type.types : [type];
      return parts.some(
        (part) => (part.flags & (ts.TypeFlags.String | ts.TypeFlags.TemplateLiteral | ts.TypeFlags.Any)) !== 0,
      );
    };
    const isList = (type) =>
      (type.isUnion() ? type.types : [type]).every(
        (part) =>
          checker.isArrayType(part) ||
          checker.isTupleType(part) ||
          /^(\w*Array|string)\b/.test(checker.typeToString(part)),
      );
    const isPlainObject = (node) => !isList(checker.getNonNullableType(typeOf(node)));
    return {
      MemberExpression(node) {
        if (!node.computed || node.property.type === 'Literal' || !isText(node.property)) return;
        if (!isPlainObject(node.object) || isWritten(node)) return;
        const object = context.sourceCode.getText(node.object);
        context.report({ node, messageId: 'lookup', data: { object } });
      },
      BinaryExpression(node) {
        if (node.operator !== 'in' || node.left.type === 'Literal' || !isText(node.left)) return;
        context.report({ node, messageId: 'membership' });
      },
    };
  },
};

/** A plain assignment reads nothing. */
function isWritten(node) {
  const { parent } = node;
  if (parent.type === 'AssignmentExpression') return parent.left === node && parent.operator === '=';
  return parent.type === 'UnaryExpression' && parent.operator === 'delete';
}
